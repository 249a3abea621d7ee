package io.github.redislocks.bench;

import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.svg.SVGProcessor;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.geom.Rectangle2D;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.StandardChartTheme;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.axis.LogAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.NumberTickUnit;
import org.jfree.chart.axis.ValueAxis;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.DefaultDrawingSupplier;
import org.jfree.chart.plot.ValueMarker;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.chart.renderer.category.StatisticalBarRenderer;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.chart.title.TextTitle;
import org.jfree.data.statistics.DefaultStatisticalCategoryDataset;
import org.jfree.data.xy.XYSeries;
import org.jfree.data.xy.XYSeriesCollection;

/** Results as pictures, in SVG. */
final class Plots {

    private static final int WIDTH = 760;
    private static final int HEIGHT = 400;
    private static final Font TITLE = new Font(Font.SANS_SERIF, Font.BOLD, 15);

    /** Values that differ more than this are seen together only by their logarithms. */
    private static final double WIDE = 20;

    private static final double LOG_BEGIN = 0.01;

    /** Told apart by those, too, who see fewer colours. */
    private static final Color[] COLOURS = {
        new Color(0x0072B2), new Color(0xD55E00), new Color(0x009E73), new Color(0xCC79A7), new Color(0x555555)
    };

    private Plots() {}

    /** A bar for each contender: its value over the floor. Nothing if the work has no floor. */
    static void bars(Path folder, Results.Section section) {
        String column = section.rows().values().stream()
                .map(Map::keySet)
                .flatMap(Collection::stream)
                .filter(name -> name.endsWith("over floor"))
                .findFirst()
                .orElse("");
        DefaultStatisticalCategoryDataset data = new DefaultStatisticalCategoryDataset();
        section.rows().forEach((name, row) -> {
            Figure figure = row.get(column);
            // A lock without Redis is a thousand times as fast as all others, and would make them flat.
            if (figure != null && !name.equals("jdk")) {
                // A rate is not less than nothing, and a logarithm has no place for that.
                double spread = Math.min((figure.high() - figure.low()) / 2, 0.9 * figure.median());
                data.add(figure.median(), spread, column, name);
            }
        });
        if (data.getColumnCount() == 0) {
            return;
        }
        StatisticalBarRenderer bars = new StatisticalBarRenderer();
        bars.setBarPainter(new StandardBarPainter());
        bars.setShadowVisible(false);
        bars.setSeriesPaint(0, COLOURS[0]);
        bars.setMaximumBarWidth(0.08);
        CategoryPlot plot = new CategoryPlot(data, new CategoryAxis(), up(data, bars), bars);
        plot.addRangeMarker(floor());
        String up = column + (plot.getRangeAxis() instanceof LogAxis ? ", log" : "")
                + " (line: the floor; median, and half the distance of the quartiles up and down)";
        save(folder, section.work(), new JFreeChart(section.work() + ": " + section.title(), TITLE, plot, false), up);
    }

    /** Logarithmic if one bar would make the floor disappear; bars have to begin somewhere then. */
    private static ValueAxis up(DefaultStatisticalCategoryDataset data, StatisticalBarRenderer bars) {
        double most = data.getRangeUpperBound(true);
        if (most < WIDE) {
            return new NumberAxis();
        }
        LogAxis axis = log("", 10);
        axis.setRange(LOG_BEGIN, most * 2);
        bars.setBase(LOG_BEGIN);
        return axis;
    }

    /** A line for each contender. */
    static void lines(Path folder, Series series) {
        XYSeriesCollection data = new XYSeriesCollection();
        series.lines().forEach((name, line) -> {
            XYSeries points = new XYSeries(name);
            line.forEach(points::add);
            data.addSeries(points);
        });
        int base = data.getDomainUpperBound(false) < 100 ? 2 : 10;
        XYPlot plot = new XYPlot(data, log(series.across() + " (log)", base), up(series), new XYLineAndShapeRenderer());
        String up = series.up() + (plot.getRangeAxis() instanceof LogAxis ? " (log)" : "");
        save(folder, series.name(), new JFreeChart(series.title(), TITLE, plot, true), up);
    }

    private static ValueAxis up(Series series) {
        double most = values(series).max().orElse(0);
        double least = values(series).min().orElse(0);
        if (least > 0 && most / least > WIDE) {
            return log("", 10);
        }
        NumberAxis up = new NumberAxis();
        up.setRange(0, most > 0 ? most * 1.1 : 1);
        return up;
    }

    private static LogAxis log(String name, int base) {
        LogAxis axis = new LogAxis(name);
        axis.setNumberFormatOverride(new DecimalFormat("#,##0.###", DecimalFormatSymbols.getInstance(Locale.ROOT)));
        axis.setBase(base);
        axis.setTickUnit(new NumberTickUnit(1));
        return axis;
    }

    private static DoubleStream values(Series series) {
        return series.lines().values().stream()
                .map(Map::values)
                .flatMap(Collection::stream)
                .mapToDouble(Double::doubleValue);
    }

    private static ValueMarker floor() {
        return new ValueMarker(1, Color.DARK_GRAY, new BasicStroke(1.2f));
    }

    /** What goes up stands above, since a text that is turned would be written as its outlines. */
    private static void save(Path folder, String name, JFreeChart chart, String up) {
        chart.addSubtitle(0, new TextTitle("up: " + up));
        StandardChartTheme theme = new StandardChartTheme("plain");
        theme.setExtraLargeFont(TITLE);
        theme.setLargeFont(TITLE.deriveFont(Font.PLAIN, 13f));
        theme.setRegularFont(TITLE.deriveFont(Font.PLAIN, 11f));
        theme.setPlotBackgroundPaint(Color.WHITE);
        theme.setRangeGridlinePaint(Color.LIGHT_GRAY);
        theme.setDomainGridlinePaint(Color.LIGHT_GRAY);
        theme.setShadowVisible(false);
        theme.setBarPainter(new StandardBarPainter());
        theme.setDrawingSupplier(new DefaultDrawingSupplier(
                COLOURS,
                DefaultDrawingSupplier.DEFAULT_OUTLINE_PAINT_SEQUENCE,
                DefaultDrawingSupplier.DEFAULT_STROKE_SEQUENCE,
                DefaultDrawingSupplier.DEFAULT_OUTLINE_STROKE_SEQUENCE,
                DefaultDrawingSupplier.DEFAULT_SHAPE_SEQUENCE));
        theme.apply(chart);
        VectorGraphics2D graphics = new VectorGraphics2D();
        chart.draw(graphics, new Rectangle2D.Double(0, 0, WIDTH, HEIGHT));
        try {
            Files.createDirectories(folder);
            ByteArrayOutputStream text = new ByteArrayOutputStream();
            new SVGProcessor()
                    .getDocument(graphics.getCommands(), new PageSize(0, 0, WIDTH, HEIGHT))
                    .writeTo(text);
            // The font of this machine is not that of the reader's.
            String svg = text.toString(StandardCharsets.UTF_8)
                    .replaceAll("font-family:&quot;[^&]*&quot;", "font-family:sans-serif");
            Files.writeString(folder.resolve(name + ".svg"), svg);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
